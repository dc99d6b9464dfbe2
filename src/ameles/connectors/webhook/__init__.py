"""Webhooks: releases that are posted to an address."""
