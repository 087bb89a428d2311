"""Long work for the page: one worker process, its jobs and its tasks."""
