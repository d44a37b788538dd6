"""Documents in, graphs out: every form, every order, every mistake."""
