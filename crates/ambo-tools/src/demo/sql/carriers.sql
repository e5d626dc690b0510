select a.name as airline, count(*) as flights, round(avg(f.dep_delay), 1) as mean_delay,
       sum(case when f.dep_delay >= 60 then 1 else 0 end) as hour_late,
       sum(case when f.dep_time is null then 1 else 0 end) as cancelled
from flights f join airlines a on a.carrier = f.carrier
group by a.name order by flights desc, airline limit 6
