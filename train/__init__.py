"""What runs inside the job image: training that leaves one run, one row and one version."""
