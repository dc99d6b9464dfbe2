"""The page of the service: static files that read ``/v1`` as anybody else can."""
