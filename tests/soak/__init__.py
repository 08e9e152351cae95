"""
A soak: hours of load on three replicas beside a real control plane, with faults all the while.

``python -m tests.soak`` runs it. traffic: the writes. disturbances: the faults. outages: when the
API server or etcd is away. footprint: what each replica holds. report: figures and bounds.
"""
