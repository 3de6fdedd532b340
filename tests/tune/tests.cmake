# The end-to-end test starts the programs that are shipped.
add_dependencies(test_tune temper-builder temper-runner)
