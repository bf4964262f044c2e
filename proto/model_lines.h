/* The words that stand beside the lines of a model in the symbol of a frame of generated code (wire.md, symbols). Each
 * is a part of the symbol without a source. */
#ifndef MODEL_LINES_H
#define MODEL_LINES_H

#define MODEL_LINES_MORE "..." /* further lines were left out */
/* The lines are not proven: they are the kernel's, or those of an equal kernel. */
#define MODEL_LINES_NEAR "≈"

#endif
