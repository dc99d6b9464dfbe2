"""The service: streams that are followed, read and shown over HTTP by one process.

The routes that read (``readout``) know neither a mechanism nor the store: they see published values
and texts through the protocols of ``views.py``.
"""
