"""What every long-lived Rainbow process does alike: read its settings, write its log, talk to systemd."""
