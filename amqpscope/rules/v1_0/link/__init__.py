"""Link (LNK): handles, names, attach, refusal and detach."""
