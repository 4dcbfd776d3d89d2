/** `forget` takes exactly one selector. */
import { createReceiver, type ErasureCounts } from 'messaging-webhooks'
import { expectTypeOf, test } from 'vitest'

const receiver = createReceiver({ credentials: { authKey: 'a', signingSecret: 's' } })

test('takes one selector, and returns how much it removed', () => {
  expectTypeOf(receiver.forget({ messageId: 'm', project: 'p' })).resolves.toEqualTypeOf<ErasureCounts>()
  expectTypeOf(receiver.forget).toBeCallableWith({ recipient: '+254700123456' }, { dryRun: true, compact: false })
  expectTypeOf(receiver.forget).toBeCallableWith({ before: new Date() })
  expectTypeOf(receiver.forget).toBeCallableWith({ where: (payload) => payload['account'] === 'a' })
})

test('no selector, two, or a project without effect do not compile', () => {
  // @ts-expect-error: nothing is named
  void receiver.forget({})
  // @ts-expect-error: two are named
  void receiver.forget({ messageId: 'm', recipient: 'r' })
  // @ts-expect-error: a time covers every project
  void receiver.forget({ before: 0, project: 'p' })
})
