import { Router } from 'express';
import type { Doctor } from '../doctor';
import { handle } from '../http';

/** What the route calls. */
export interface DoctorRouteDependencies {
  doctor: Pick<Doctor, 'report'>;
}

/** `GET /v1/doctor`: what goes wrong quietly, and what to do about it (R39). */
export function doctorRoutes({ doctor }: DoctorRouteDependencies): Router {
  const router = Router();
  router.get(
    '/',
    handle(async (request, response) => {
      response.json(await doctor.report(request.query));
    }),
  );
  return router;
}
