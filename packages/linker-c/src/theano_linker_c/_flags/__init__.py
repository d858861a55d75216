"""Configuration flags of this layer."""
