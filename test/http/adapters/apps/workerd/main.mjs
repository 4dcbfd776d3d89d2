import { answer } from './receiver.mjs'

export default {
  fetch: (request, _env, context) => answer(request, context),
}
