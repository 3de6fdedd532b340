add_dependencies(test_peers temper-peer)
