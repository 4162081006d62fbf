"""The rank data that ships with the package; NOTICE says where it comes from."""
