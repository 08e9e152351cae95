"""
A real Kubernetes control plane for the tests: how it is built, started, used and ended.

assets, build, go/: the programs. processes, tether, waiting, scratch: children that end with us.
etcd, apiserver, controllers, credentials, options: one component each. plane: all of them.
api, kubelet, webhooks: what tests do with it. fixtures: for pytest.
"""
