"""The answer cache: the same question again within some minutes is answered without calling a model."""
