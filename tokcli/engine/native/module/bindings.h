// What each file of this folder adds to the Python module. _native.pyi says what every name promises.
#pragma once

#include <nanobind/nanobind.h>

void bind_vocabulary(nanobind::module_& module);    // Vocabulary, Decoder, images
void bind_ids(nanobind::module_& module);           // Ids, ids as decimal text
void bind_text(nanobind::module_& module);          // patterns, UTF-8, records
void bind_merges(nanobind::module_& module);        // lists of merges
void bind_text_models(nanobind::module_& module);   // TextModel
void bind_views(nanobind::module_& module);          // pieces and tokens as people see them
void bind_training(nanobind::module_& module);      // PieceTable, RunMerger, Trainer
