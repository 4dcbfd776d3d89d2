import { maskSecrets } from '../../src/verify/body.ts'
import { AUTH_KEY } from '../load/secrets.ts'
import { eachInTurn } from './samples.ts'
import type { Step } from './step.ts'

export const mask: Step = {
  what: 'a copy of the bytes without the authKey',
  prepare: () =>
    eachInTurn(({ body }) => {
      const { bytes } = maskSecrets(body, [AUTH_KEY])
      if (bytes.includes(AUTH_KEY)) throw new Error('The authKey was not masked.')
      return bytes
    }),
}
