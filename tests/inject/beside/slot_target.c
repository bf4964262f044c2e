/* What slot_library.c calls. */
int slot_target(int number);

int slot_target(int number)
{
	return number + 1;
}
