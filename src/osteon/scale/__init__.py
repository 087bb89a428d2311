"""Work beyond one asset and one machine: batches of assets on processes, a Dask cluster or a render farm."""
