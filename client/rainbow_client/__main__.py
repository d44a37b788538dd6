from rainbow_client.cli import main

main()
