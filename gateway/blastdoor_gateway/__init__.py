"""What a gateway's process installs: the contract with the engine. Never imports Faust."""
