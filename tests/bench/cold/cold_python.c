#include "cold_python.h"

#include "cold_frames.h"

const char *Py_GetVersion(void);
int Py_IsInitialized(void);
void *PyGILState_GetThisThreadState(void);

static __thread void *state;

char PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];

const char *Py_GetVersion(void)
{
	return "3.12.0 (cold)";
}

int Py_IsInitialized(void)
{
	return 1;
}

void *PyGILState_GetThisThreadState(void)
{
	return state;
}

void cold_python_set_state(void *thread_state)
{
	state = thread_state;
}

void _PyEval_EvalFrameDefault(struct cold_path *path)
{
	cold_path_next(path);
	__asm__ volatile("" ::: "memory");
}
