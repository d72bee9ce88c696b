"""Admit: GitOps for expensive training."""

__version__ = "0.1.0"
