import { messageKey, reportIdentity } from '../../src/messages/order.ts'
import { eachInTurn } from './samples.ts'
import type { Step } from './step.ts'

const DIGITS = 32

export const identity: Step = {
  what: 'the identity of the event and the key of its message',
  prepare: () =>
    eachInTurn(({ fields }) => {
      const messageId = String(fields['messageId'])
      const id = reportIdentity({
        project: 'My Shop',
        messageId,
        status: String(fields['status']),
        statusCode: undefined,
        timestamp: Number(fields['timestamp']),
        bodyDigest: undefined,
      })
      const key = messageKey(undefined, messageId)
      if (id.length !== DIGITS || key.length !== DIGITS) throw new Error('An identity has the wrong length.')
      return key
    }),
}
