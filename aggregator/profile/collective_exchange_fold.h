/* Folds what is known of exchanges (collective_exchange.h). Part of collective_folds_take(); one thread. */
#ifndef COLLECTIVE_EXCHANGE_FOLD_H
#define COLLECTIVE_EXCHANGE_FOLD_H

#include "collective_exchange.h"
#include "collective_folding.h"

/* Splits the kernels of the exchanges (collective_split.h). 0 or -ENOMEM. */
int collective_exchange_split(struct collective_folding *folding,
			      const struct collective_fold *fold,
			      const struct collective_exchanges *exchanges);

/* Compares the exchanges of all ranks as all_to_alls. Call it when the kernels are split. 0 or -ENOMEM. */
int collective_exchange_compare(struct collective_folding *folding, struct collective_fold *fold,
				const struct collective_exchanges *exchanges);

#endif
