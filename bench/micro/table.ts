/** The steps in the order of the pipeline. */
import { admit } from './admit.ts'
import { dispatch } from './dispatch.ts'
import { event } from './event.ts'
import { identity } from './identity.ts'
import { mask } from './mask.ts'
import { normalise } from './normalise.ts'
import { parse } from './parse.ts'
import { read } from './read.ts'
import type { Step } from './step.ts'
import { verify } from './verify.ts'

export const STEPS = {
  parse,
  verify,
  mask,
  read,
  normalise,
  identity,
  event,
  admit,
  dispatch,
} as const satisfies Readonly<Record<string, Step>>
