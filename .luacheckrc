-- luacheck for lua/: no globals of our own anywhere.
std = "ngx_lua"
max_line_length = 140
unused_args = true
cache = false
exclude_files = { "target" }
