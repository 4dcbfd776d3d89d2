import { status } from '$lib/status.js'

export async function POST({ request }) {
  await request.json()
  return status(request)
}
