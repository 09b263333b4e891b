class _Lib:
    BP_CMD_UA_UNREGISTER: int

lib: _Lib
