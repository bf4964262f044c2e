#include "agreement_python.h"

#include <dlfcn.h>
#include <stddef.h>

typedef void object; /* a PyObject */

static struct {
	int (*is_initialized)(void);
	int (*ensure)(void);
	void (*release)(int state);
	void *(*this_thread)(void);
	void *(*present_thread)(void);
	object *(*thread_frame)(void *thread); /* a new reference, as the next three */
	object *(*frame_back)(object *frame);
	object *(*frame_code)(object *frame);
	object *(*attribute)(object *of, const char *name);
	int (*frame_line)(object *frame);
	const char *(*text)(object *string);
	void (*drop)(object *reference);
	void (*clear_error)(void);
} api;

bool agreement_python_find(void)
{
	const struct {
		void **at;
		const char *name;
	} functions[] = {
		{(void **)&api.is_initialized, "Py_IsInitialized"},
		{(void **)&api.ensure, "PyGILState_Ensure"},
		{(void **)&api.release, "PyGILState_Release"},
		{(void **)&api.this_thread, "PyGILState_GetThisThreadState"},
		{(void **)&api.present_thread, "PyThreadState_Get"},
		{(void **)&api.thread_frame, "PyThreadState_GetFrame"},
		{(void **)&api.frame_back, "PyFrame_GetBack"},
		{(void **)&api.frame_code, "PyFrame_GetCode"},
		{(void **)&api.attribute, "PyObject_GetAttrString"},
		{(void **)&api.frame_line, "PyFrame_GetLineNumber"},
		{(void **)&api.text, "PyUnicode_AsUTF8"},
		{(void **)&api.drop, "Py_DecRef"},
		{(void **)&api.clear_error, "PyErr_Clear"},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!(*functions[i].at = dlsym(RTLD_DEFAULT, functions[i].name)))
			return false;
	return api.is_initialized();
}

int agreement_python_enter(void)
{
	return api.is_initialized() && api.this_thread() ? api.ensure() : -1;
}

void agreement_python_leave(int state)
{
	api.release(state);
}

static void tell(object *frame, agreement_python_frame_fn *each, void *user)
{
	object *code = api.frame_code(frame);
	object *file = api.attribute(code, "co_filename");
	object *name = api.attribute(code, "co_qualname");

	each(user, file ? api.text(file) : NULL, name ? api.text(name) : NULL,
	     api.frame_line(frame));
	api.drop(name);
	api.drop(file);
	api.drop(code);
	api.clear_error();
}

uint32_t agreement_python_frames(agreement_python_frame_fn *each, void *user)
{
	object *frame = api.thread_frame(api.present_thread());
	uint32_t nr = 0;

	while (frame) {
		object *back = api.frame_back(frame);

		tell(frame, each, user);
		api.drop(frame);
		frame = back;
		nr++;
	}
	return nr;
}
