/** What `forget` takes is said in exactly one way. */
import { createReceiver, type ErasureCounts } from 'messaging-webhooks'
import { expectTypeOf, test } from 'vitest'

const receiver = createReceiver({ credentials: { authKey: 'a', signingSecret: 's' } })

test('one selector is taken, and says how much it removed', () => {
  expectTypeOf(receiver.forget({ messageId: 'm', project: 'p' })).resolves.toEqualTypeOf<ErasureCounts>()
  expectTypeOf(receiver.forget).toBeCallableWith({ recipient: '+254700123456' }, { dryRun: true, compact: false })
  expectTypeOf(receiver.forget).toBeCallableWith({ before: new Date() })
  expectTypeOf(receiver.forget).toBeCallableWith({ where: (payload) => payload['account'] === 'a' })
})

test('none, two, and a project where it means nothing do not compile', () => {
  // @ts-expect-error: nothing is named
  void receiver.forget({})
  // @ts-expect-error: two are named
  void receiver.forget({ messageId: 'm', recipient: 'r' })
  // @ts-expect-error: a time is of every project
  void receiver.forget({ before: 0, project: 'p' })
})
