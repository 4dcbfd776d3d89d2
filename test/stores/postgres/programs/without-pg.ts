/** Opens a store where the package `pg` is not installed. */
import { registerHooks } from 'node:module'
import { MessagingWebhooksError } from '../../../../src/index.ts'
import { postgresStore } from '../../../../src/stores/postgres/store.ts'

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'pg') throw new Error("Cannot find package 'pg'")
    return next(specifier, context)
  },
})
try {
  await postgresStore({ connectionString: 'postgres://127.0.0.1/none' }).open({
    nowMs: Date.now,
    wallMs: Date.now,
    elapsedMs: () => performance.now(),
    onWork() {},
    report() {},
    onLost() {},
    inFlight: () => undefined,
    claims: true,
  })
} catch (error) {
  console.log(error instanceof MessagingWebhooksError ? `${error.code}: ${error.message}` : 'something else')
}
