#!/usr/bin/env node
/** `npx messaging-webhooks …`. Loads the program on a supported Node.js only: an older one could not load it. */
import { EXIT_CODES } from './command.ts'

import('../runtime/supported-node.ts').then(
  () => import('./program.ts'),
  (error: unknown) => {
    console.error(`error: ${error instanceof Error ? error.message : 'This Node.js is not supported.'}`)
    process.exitCode = EXIT_CODES.unsupported.code
  },
)
