"""The `congest` command: thin commands over `vef` and `estimator`."""
