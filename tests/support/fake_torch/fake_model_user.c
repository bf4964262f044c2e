#include "fake_model.h"

__thread int fake_model_user_calls;

void fake_model_user_call(void);

void fake_model_user_call(void)
{
	fake_model_user_calls++;
	fake_model_call_with(NULL, NULL, NULL);
}
