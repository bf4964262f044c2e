/* Calls a function of another library, and says where it is: the linker then makes do with one slot, which is bound at
 * once. Without SLOT_POINTER it is one for calls. */
int slot_target(int number);
int slot_library_call(int number);
int (*slot_library_pointer(void))(int number);

int slot_library_call(int number)
{
	return slot_target(number);
}

#ifdef SLOT_POINTER
int (*slot_library_pointer(void))(int number)
{
	return slot_target;
}
#endif
