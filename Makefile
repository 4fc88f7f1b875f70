# Everything is in next/, which comes to this place with the next commit.

%:
	@$(MAKE) -C next $@
