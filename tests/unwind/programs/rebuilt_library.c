/* Compiled twice, with one build id: the function's code and place are alike, and only the room on its stack differs. */
#ifndef ROOM
#error "ROOM: bytes"
#endif

int rebuilt_call(int (*function)(char *bytes));

int rebuilt_call(int (*function)(char *bytes))
{
	char bytes[ROOM];

	bytes[0] = 1;
	return function(bytes) + bytes[0];
}
