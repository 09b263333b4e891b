class _Lib:
    BP_CMD_PING: int
    BP_CMD_UA_UNREGISTER: int
    BP_EV_PONG: int

lib: _Lib
