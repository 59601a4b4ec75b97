-- The requests of wrk: uploads of 64 KiB.
wrk.method = "POST"
wrk.body = string.rep("x", 65536)
