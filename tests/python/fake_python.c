/* Exports what the guest looks for in a CPython, and nothing of Python behind it. */
#include "fake_python.h"

#define EXPORT __attribute__((visibility("default")))

struct fake_python *fake_python(void);
const char *Py_GetVersion(void);
int Py_IsInitialized(void);
void *PyGILState_GetThisThreadState(void);
void *PyInterpreterState_Head(void);
void *PyInterpreterState_Main(void);

static struct fake_python settings;

EXPORT char PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];

EXPORT struct fake_python *fake_python(void)
{
	return &settings;
}

EXPORT const char *Py_GetVersion(void)
{
	return settings.version;
}

EXPORT int Py_IsInitialized(void)
{
	return settings.initialized;
}

EXPORT void *PyGILState_GetThisThreadState(void)
{
	return settings.thread_state;
}

EXPORT void *PyInterpreterState_Head(void)
{
	return settings.interpreter_head;
}

EXPORT void *PyInterpreterState_Main(void)
{
	return settings.interpreter_main;
}

#ifdef FAKE_PYTHON_DEBUG
void _Py_NegativeRefcount(void);

EXPORT void _Py_NegativeRefcount(void)
{
}
#endif
