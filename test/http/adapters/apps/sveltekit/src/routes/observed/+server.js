import { observed } from '$lib/status.js'

export const GET = () => Response.json(observed())
