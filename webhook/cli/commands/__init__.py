"""Options and help of the commands; the module of ``webhook.cli`` with the same name runs one."""
