"""Speed, always against something that is measured in the same run."""
