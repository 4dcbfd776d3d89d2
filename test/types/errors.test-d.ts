import {
  createReceiver,
  ERRORS,
  HandlerError,
  MessagingWebhooksError,
  OptionsError,
  RefusedError,
  type ErrorCode,
  type HandlerErrorCode,
  type RefusalCode,
} from 'messaging-webhooks'
import { expectTypeOf, test } from 'vitest'

const receiver = createReceiver({ credentials: { authKey: 'key' } })

test('the class of an error narrows its code', () => {
  receiver.onError((error) => {
    expectTypeOf(error.code).toEqualTypeOf<ErrorCode>()
    if (error instanceof RefusedError) {
      expectTypeOf(error.code).toEqualTypeOf<RefusalCode>()
      switch (error.code) {
        case 'signature_stale':
          expectTypeOf(error.code).toEqualTypeOf<'signature_stale'>()
          break
        case 'store_full':
          expectTypeOf(error.status).toBeNumber()
          break
        // @ts-expect-error -- no request is refused for a handler
        case 'handler_failed':
          break
        // @ts-expect-error -- misspelt
        case 'signature_mising':
          break
      }
    } else if (error instanceof HandlerError) {
      switch (error.code) {
        case 'handler_failed':
        case 'handler_timeout':
        case 'handler_cut_off':
        case 'dead_letter':
        case 'transaction_failed':
        case 'lease_lost':
          expectTypeOf(error.messageId).toEqualTypeOf<string | undefined>()
          expectTypeOf(error.attempt).toEqualTypeOf<number>()
          break
        default:
          expectTypeOf(error.code).toBeNever()
      }
    } else {
      expectTypeOf(error).toEqualTypeOf<MessagingWebhooksError>()
    }
  })
  expectTypeOf<OptionsError['code']>().toEqualTypeOf<'options_invalid'>()
})

test('the codes match the table', () => {
  expectTypeOf<ErrorCode>().toEqualTypeOf<keyof typeof ERRORS>()
  expectTypeOf<RefusalCode | HandlerErrorCode>().toExtend<ErrorCode>()
  expectTypeOf<RefusalCode & HandlerErrorCode>().toBeNever()
  expectTypeOf<Extract<RefusalCode, 'receiver_closed' | 'internal'>>().toEqualTypeOf<'receiver_closed' | 'internal'>()
})
