/* Loaded by tests while they run. */
int late_library_answer(void);

int late_library_answer(void)
{
	return 42;
}
