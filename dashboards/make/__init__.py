"""Makes the dashboards of dashboards/grafana and docs/metrics.md: `make dashboards`."""
