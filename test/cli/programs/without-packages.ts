/** Loaded before the command line (`--import`): the packages that WITHOUT names cannot be found. */
import { registerHooks } from 'node:module'

const missing = (process.env['WITHOUT'] ?? '').split(',')
registerHooks({
  resolve(specifier, context, next) {
    if (missing.includes(specifier)) throw new Error(`Cannot find package '${specifier}'`)
    return next(specifier, context)
  },
})
