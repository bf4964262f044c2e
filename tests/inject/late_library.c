/* Loaded by module_watch_test while it runs. */
int late_library_answer(void);

int late_library_answer(void)
{
	return 42;
}
