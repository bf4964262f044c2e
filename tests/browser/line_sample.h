/* Programs whose lines launch. */
#ifndef LINE_SAMPLE_H
#define LINE_SAMPLE_H

#include "sample.h"

/* A line of the program through which most launches go, and a helper with one caller. */
void line_sample_helper(struct sample *sample);

void line_sample_native(struct sample *sample); /* without Python */

#endif
